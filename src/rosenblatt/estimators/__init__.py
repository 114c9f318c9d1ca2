"""The scikit-learn interface: fit, partial_fit, predict, parameters, certificates, exports."""
