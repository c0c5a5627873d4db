r"""Norm schemes: where a layer normalises, and how it adds its branch.

.. math:: \text{pre: } x + c F(N x), \qquad \text{post: } N(x + c F(x)), \qquad
          \text{peri: } x + c N'(F(N x))

with N a LayerNorm or an RMS norm. `build` makes the module of one layer, whose
``wrap(x, branch, scale)`` owns the residual; without residual ``x + c F`` becomes F.
"""

__all__ = ["NORMS", "NormScheme"]

from vlasov.catalogue import Catalogue
from vlasov.transformer.norm_scheme import NormScheme
from vlasov.transformer.residual_norms import (
    DeepNorm,
    LnScaling,
    Mix,
    NoNorm,
    Peri,
    Post,
    Pre,
    Sandwich,
)
from vlasov.transformer.sphere_norms import Ngpt, OnSphere

NORMS: Catalogue[NormScheme] = Catalogue(
    "norm",
    [NoNorm, Pre, Post, Peri, Sandwich, Mix, Ngpt, LnScaling, DeepNorm, OnSphere],
)
