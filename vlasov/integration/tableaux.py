"""The coefficient tables, with their sources."""

__all__ = [
    "TABLES",
    "BogackiShampine",
    "DormandPrince",
    "Euler",
    "Heun",
    "RungeKutta4",
    "Tsitouras",
]

from dataclasses import dataclass
from fractions import Fraction as F

from torch import Tensor

from vlasov.catalogue import Catalogue
from vlasov.integration.dop853 import Dop853
from vlasov.integration.field import Field
from vlasov.integration.method import RungeKutta, Stochastic
from vlasov.integration.noise import Noise
from vlasov.integration.tableau import Tableau


@dataclass(frozen=True)
class Euler(RungeKutta, Stochastic):
    """The explicit Euler method; with noise, Euler-Maruyama.

    Its strong order is 1/2, and 1 for additive noise.

    Source: L. Euler, Institutiones calculi integralis I (1768), section 650; G. Maruyama (1955).
    """

    name = "euler"
    order = 1
    tableau = Tableau(rows=((),), nodes=(0,), weights=(1,))

    def noisy_step(
        self, field: Field, t: float, x: Tensor, h: float, *, noise: Noise, xi: Tensor
    ) -> Tensor:
        """Euler-Maruyama: drift and noise both taken at the begin of the step."""
        return x + h * field(t, x) + noise.project(x, xi)


@dataclass(frozen=True)
class Heun(RungeKutta, Stochastic):
    """Heun's method (explicit trapezoidal rule), with Euler embedded.

    With noise it is stochastic Heun, which converges to the Stratonovich solution.

    Source: Hairer, Norsett, Wanner, Solving ODEs I, II.1; Kloeden and Platen (1992), section 15.5.
    """

    name = "heun"
    order = 2
    embedded_order = 1
    tableau = Tableau(
        rows=((), (1,)),
        nodes=(0, 1),
        weights=(F(1, 2), F(1, 2)),
        error_weights=(F(-1, 2), F(1, 2)),
    )

    def noisy_step(
        self, field: Field, t: float, x: Tensor, h: float, *, noise: Noise, xi: Tensor
    ) -> Tensor:
        """Drift, and the direction of the same noise, averaged over both ends of the step."""
        slope, kick = field(t, x), noise.project(x, xi)
        ahead = x + h * slope + kick
        drift = (h / 2) * (slope + field(t + h, ahead))
        return x + drift + (kick + noise.project(ahead, xi)) / 2


@dataclass(frozen=True)
class RungeKutta4(RungeKutta):
    """The classic Runge-Kutta method of order 4 (not the 3/8 rule).

    Source: W. Kutta (1901); Hairer, Norsett, Wanner, Solving ODEs I, II.1, Table 1.2 left.
    """

    name = "rk4"
    order = 4
    tableau = Tableau(
        rows=((), (F(1, 2),), (0, F(1, 2)), (0, 0, 1)),
        nodes=(0, F(1, 2), F(1, 2), 1),
        weights=(F(1, 6), F(1, 3), F(1, 3), F(1, 6)),
    )


@dataclass(frozen=True)
class BogackiShampine(RungeKutta):
    """Bogacki-Shampine 3(2), first same as last.

    Source: P. Bogacki, L. F. Shampine, Appl. Math. Lett. 2 (1989) 321-325.
    """

    name = "bosh3"
    order = 3
    embedded_order = 2
    tableau = Tableau(
        rows=((), (F(1, 2),), (0, F(3, 4)), (F(2, 9), F(1, 3), F(4, 9))),
        nodes=(0, F(1, 2), F(3, 4), 1),
        weights=(F(2, 9), F(1, 3), F(4, 9), 0),
        error_weights=(F(-5, 72), F(1, 12), F(1, 9), F(-1, 8)),
    )


@dataclass(frozen=True)
class DormandPrince(RungeKutta):
    """Dormand-Prince 5(4), first same as last.

    Source: J. R. Dormand, P. J. Prince, J. Comput. Appl. Math. 6 (1980) 19-26, Table 2.
    """

    name = "dopri5"
    order = 5
    embedded_order = 4
    tableau = Tableau(
        rows=(
            (),
            (F(1, 5),),
            (F(3, 40), F(9, 40)),
            (F(44, 45), F(-56, 15), F(32, 9)),
            (F(19372, 6561), F(-25360, 2187), F(64448, 6561), F(-212, 729)),
            (F(9017, 3168), F(-355, 33), F(46732, 5247), F(49, 176), F(-5103, 18656)),
            (F(35, 384), 0, F(500, 1113), F(125, 192), F(-2187, 6784), F(11, 84)),
        ),
        nodes=(0, F(1, 5), F(3, 10), F(4, 5), F(8, 9), 1, 1),
        weights=(F(35, 384), 0, F(500, 1113), F(125, 192), F(-2187, 6784), F(11, 84), 0),
        error_weights=(
            F(71, 57600),
            0,
            F(-71, 16695),
            F(71, 1920),
            F(-17253, 339200),
            F(22, 525),
            F(-1, 40),
        ),
    )


@dataclass(frozen=True)
class Tsitouras(RungeKutta):
    """Tsitouras 5(4), first same as last; its coefficients are decimal.

    Source: C. Tsitouras, Comput. Math. Appl. 62 (2011) 770-775, Table 1.
    """

    name = "tsit5"
    order = 5
    embedded_order = 4
    tableau = Tableau(
        rows=(
            (),
            (0.161,),
            (-0.008480655492356989, 0.335480655492357),
            (2.8971530571054935, -6.359448489975075, 4.3622954328695815),
            (5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525),
            (
                5.86145544294642,
                -12.92096931784711,
                8.159367898576159,
                -0.071584973281401,
                -0.028269050394068383,
            ),
            (
                0.09646076681806523,
                0.01,
                0.4798896504144996,
                1.379008574103742,
                -3.290069515436081,
                2.324710524099774,
            ),
        ),
        nodes=(0, 0.161, 0.327, 0.9, 0.9800255409045097, 1, 1),
        weights=(
            0.09646076681806523,
            0.01,
            0.4798896504144996,
            1.379008574103742,
            -3.290069515436081,
            2.324710524099774,
            0,
        ),
        error_weights=(
            0.001780011052226,
            0.000816434459657,
            -0.007880878010262,
            0.144711007173263,
            -0.582357165452555,
            0.458082105929187,
            F(-1, 66),
        ),
    )


TABLES = Catalogue[RungeKutta](
    "integrator", [Euler, Heun, RungeKutta4, BogackiShampine, DormandPrince, Tsitouras, Dop853]
)
