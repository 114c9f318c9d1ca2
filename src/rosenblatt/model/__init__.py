"""The core models: weights that predict, learn and grow. They know nothing of scikit-learn."""
