"""The methods, one file each, on the contract of ``base``."""
