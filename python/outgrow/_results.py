"""Results: dicts that show themselves in a notebook."""
import html

CHECKS = "check", "verdict", "found", "advice"
SHOWN = "epoch", "loss", "train_acc", "valid_acc", "valid_loss", "lr", "seconds", "hits", "misses", "bytes_read"


def shown(value):
    return f"{value:.6g}" if isinstance(value, float) else html.escape(str(value))


def table(rows, heads):
    lines = ["<tr>" + "".join(f"<th>{html.escape(h)}</th>" for h in heads) + "</tr>"] if heads else []
    lines += ["<tr>" + "".join(f"<td>{shown(v)}</td>" for v in row) + "</tr>" for row in rows]
    return "<table>" + "".join(lines) + "</table>"


class Result(dict):
    """What a call returned: a dict. In a notebook it is a table of its numbers and words, and one of its epochs or checks."""

    def _repr_html_(self):
        text = table([(k, v) for k, v in self.items() if v is None or isinstance(v, (str, int, float))], [])
        for name in "valid_metrics", "test_metrics", "metrics":
            if isinstance(self.get(name), dict):
                text += table([(f"{name}: {k}", v) for k, v in self[name].items() if isinstance(v, (int, float))], [])
        if isinstance(self.get("run"), dict):
            text += table([[sentence] for sentence in self["run"].get("sentences", [])], [])
        if isinstance(self.get("checks"), list):
            text += table([[check.get(h) or "" for h in CHECKS] for check in self["checks"]], CHECKS)
        epochs = [e for e in self.get("epochs") or [] if isinstance(e, dict)]
        heads = [h for h in SHOWN if any(h in e for e in epochs)]
        return text + (table([[e.get(h, "") for h in heads] for e in epochs], heads) if epochs else "")
