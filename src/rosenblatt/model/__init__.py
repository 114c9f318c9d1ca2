"""The core models: weights that predict, learn and grow. They do not depend on scikit-learn."""
