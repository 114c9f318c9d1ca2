"""What scikit-learn sees: fit, partial_fit, predict, parameters, certificates, exports."""
