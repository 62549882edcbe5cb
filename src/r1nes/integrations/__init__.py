"""r1nes inside other packages: SciPy, Optuna and PyTorch, each in the file that carries its name."""
