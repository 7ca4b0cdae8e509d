"""The training loop and what it keeps; it knows neither Ray nor MLflow."""
