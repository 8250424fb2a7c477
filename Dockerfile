# The site and the command line in one image: docker build -t reprobase .
# torch's default wheels bring CUDA along; name an index of CPU wheels to have a small image:
#   docker build --build-arg PIP_EXTRA_INDEX_URL=... -t reprobase .
FROM python:3.12-slim

ARG PIP_EXTRA_INDEX_URL=""
ENV PIP_EXTRA_INDEX_URL=${PIP_EXTRA_INDEX_URL} \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1

WORKDIR /opt/reprobase
COPY pyproject.toml requirements.lock README.md LICENSE ./
COPY app ./app
COPY reproducers ./reproducers
COPY data ./data
COPY templates ./templates
# In place, because the catalog and the templates are read from beside the code.
RUN pip install -c requirements.lock -e .

# Nobody's rights, and one folder to write to: engine code gives up even these before it runs.
RUN useradd --system --uid 10001 --home-dir /data --create-home reprobase
USER reprobase
VOLUME /data
ENV HOME=/data \
    REPROBASE_CACHE_DIR=/data/cache \
    REPROBASE_DATABASE_URL=sqlite:////data/reprobase.db \
    REPROBASE_LOG_FORMAT=json

EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["reprobase"]
CMD ["serve", "--host", "0.0.0.0"]
