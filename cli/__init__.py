"""The command `vlasov`."""
