"""Where tokens live: all of R^d or a sphere."""

from vlasov.catalogue import Catalogue
from vlasov.geometry.base import Geometry
from vlasov.geometry.euclid import Euclid
from vlasov.geometry.sphere import Sphere

__all__ = ["GEOMETRIES", "Euclid", "Geometry", "Sphere"]

GEOMETRIES: Catalogue[Geometry] = Catalogue("geometry", [Euclid, Sphere])
