"""Ways of scoring a document for a query."""
