"""`python -m cli` from a checkout, `python -m vlasov_cli` where installed."""

from .main import main

main()
