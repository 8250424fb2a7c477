"""What all faces over HTTP share: cached answers, problem documents, headers, permission to run."""
