"""LAMAR for LangChain."""
