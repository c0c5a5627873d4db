"""Time stepping of any callable ``(t, x) -> dx/dt`` on plain tensors."""

from vlasov.integration.catalogue import INTEGRATORS, build_method
from vlasov.integration.dop853 import Dop853
from vlasov.integration.doubling import Doubled
from vlasov.integration.events import Event, collapsed, exploded, steady
from vlasov.integration.field import Field, SplitField
from vlasov.integration.integrate import integrate
from vlasov.integration.method import Method, OneStep, RungeKutta
from vlasov.integration.noise import AdditiveNoise, Noise
from vlasov.integration.problem import Problem
from vlasov.integration.splitting import Lie, Strang
from vlasov.integration.state import Observer, Outcome, State
from vlasov.integration.status import STATUSES
from vlasov.integration.stepping import AdaptiveStep, FixedStep, Limits, Plan
from vlasov.integration.stiff import Stiff
from vlasov.integration.tableau import Step, Tableau
from vlasov.integration.tableaux import (
    BogackiShampine,
    DormandPrince,
    Euler,
    Heun,
    RungeKutta4,
    Tsitouras,
)

__all__ = [
    "INTEGRATORS",
    "STATUSES",
    "AdaptiveStep",
    "AdditiveNoise",
    "BogackiShampine",
    "Dop853",
    "DormandPrince",
    "Doubled",
    "Euler",
    "Event",
    "Field",
    "FixedStep",
    "Heun",
    "Lie",
    "Limits",
    "Method",
    "Noise",
    "Observer",
    "OneStep",
    "Outcome",
    "Plan",
    "Problem",
    "RungeKutta",
    "RungeKutta4",
    "SplitField",
    "State",
    "Step",
    "Stiff",
    "Strang",
    "Tableau",
    "Tsitouras",
    "build_method",
    "collapsed",
    "exploded",
    "integrate",
    "steady",
]
