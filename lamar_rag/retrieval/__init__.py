"""The first stage: embedder, language centring, FAISS index, corpus readers."""
