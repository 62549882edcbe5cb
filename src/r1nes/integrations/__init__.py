"""Integrations with other packages: SciPy, Optuna, PyTorch, TensorBoard and MLflow."""
