"""The data of the sample corpus."""
