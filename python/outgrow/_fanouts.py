"""num_neighbors as PyTorch Geometric's loaders take it."""
from ._errors import OptionError


class Fanouts:
    """Neighbours of each hop, of all relations alike or of each. Hops end before one that samples none of `edges`, {relation: how many there are}. `padding`:
    how many hops that cuts, `hops`: how many it leaves. Unless `exact`, as many neighbours as there are edges are all."""

    def __init__(self, num_neighbors, relations, edges, exact=False):
        named = [name for name in relations if name is not None]
        if hasattr(num_neighbors, "get_values"):
            try:
                num_neighbors = num_neighbors.get_values(named or None)
            except ValueError as why:  # of theirs
                raise OptionError(f"num_neighbors: {why}", "give numbers for every relation, or a default") from why
        if hasattr(num_neighbors, "items"):
            if not named:
                raise OptionError("num_neighbors: by relations, of a graph without types", "give a list: [10, 10]")
            given = {canonical(name, named, "num_neighbors"): self.list_of(hops) for name, hops in num_neighbors.items()}
            if missing := [name for name in named if name not in given]:
                raise OptionError(f"num_neighbors: no numbers for {missing[0]}", "give numbers for every relation")
        else:
            given = {name: self.list_of(num_neighbors) for name in relations}
        hops = {len(list_) for list_ in given.values()}
        if len(hops) > 1:
            raise OptionError(f"num_neighbors: lists of {sorted(hops)} hops; the number of hops must be the same across all relations",
                              "give as many numbers of each relation")
        self.asked = hops.pop() if hops else len(self.list_of(num_neighbors))
        used = {name: [-1 if not exact and n >= edges[name] else n for n in list_] for name, list_ in given.items() if edges[name] > 0}
        self.hops = next((h for h in range(self.asked) if not any(list_[h] for list_ in used.values())), self.asked)
        self.padding = self.asked - self.hops
        self.values = {name: list_[:self.hops] for name, list_ in used.items()}

    @staticmethod
    def list_of(hops):
        hops = hops.tolist() if hasattr(hops, "tolist") else hops
        if isinstance(hops, (list, tuple)) and len(hops) > 16:
            raise OptionError(f"num_neighbors: {len(hops)} hops", "give 16 at most")
        if not isinstance(hops, (list, tuple)) or not all(hasattr(n, "__index__") and n >= -1 for n in hops):
            raise OptionError(f"num_neighbors: {hops!r}", "give a number of neighbours for each hop, -1 = all: [10, 10]")
        return [int(n) for n in hops]

    def option(self, relation_keys):
        """As Loader takes it; keys by which the dataset knows relations, None in a homogeneous graph."""
        if relation_keys is None:
            return next(iter(self.values.values()))
        return {relation_keys[name]: list_ for name, list_ in self.values.items()}


def canonical(name, relations, argument):
    """(source, name, destination), from it or from what stands for it where that is one relation."""
    if isinstance(name, str):
        found = [r for r in relations if name in ("__".join(r), r[1])]
    else:
        name = tuple(name)
        found = [r for r in relations if name == r or len(name) == 2 and name == (r[0], r[2])]
    if len(found) != 1:
        raise OptionError(f"{argument}: {name!r} is {'no relation' if not found else 'several relations'}", f"relations: {', '.join(map(str, relations))}")
    return found[0]
