#!/usr/bin/python3
"""Losses of tests/nn/test_nn_losses.c by PyTorch: its value and gradient for logits, labels and weights of classes.

    cd tests/nn/golden && ./nn_losses_make.py
"""
import numpy as np
import torch
from torch.nn import functional as F

from nn_make import write_safetensors

ROWS, COLS = 150, 9
rng = np.random.default_rng(5)
out, metadata = {}, {}


def case(name, loss, multi=False, weighted=False, rows=False, text=""):
    logits = torch.from_numpy(rng.normal(0, 3, (ROWS, COLS)).astype(np.float32)).double().requires_grad_()
    labels = (rng.random((ROWS, COLS)) < 0.3).astype(np.float32) if multi else rng.integers(-1, COLS, ROWS).astype(np.float32)
    weight = torch.from_numpy(rng.uniform(0.1, 3, COLS).astype(np.float32)).double() if weighted else None
    y = torch.from_numpy(labels).double() if multi else torch.from_numpy(labels).long()
    each = torch.from_numpy(rng.choice([0, 0.5, 1, 3], ROWS).astype(np.float32)).double() if rows else None
    value = loss(logits, y, weight, each) if rows else loss(logits, y, weight)
    value.backward()
    out.update({f"{name}.logits": logits.detach().numpy().astype(np.float32), f"{name}.labels": labels,
                f"{name}.grad": logits.grad.numpy().astype(np.float32), f"{name}.loss": np.array([value.item()])})
    if weighted:
        out[f"{name}.weight"] = weight.numpy().astype(np.float32)
    if rows:
        out[f"{name}.rows"] = each.numpy().astype(np.float32)
    metadata[name] = ("multi " if multi else "") + text
    print(name, value.item())


def cross_entropy(smoothing):
    return lambda x, y, w: F.cross_entropy(x, y, weight=w, ignore_index=-1, label_smoothing=smoothing)


def focal(gamma):
    """The mean by weight of (1 - p)^gamma times the cross-entropy."""
    def loss(x, y, w):
        x, y = x[y >= 0], y[y >= 0]
        each = F.cross_entropy(x, y, weight=w, reduction="none")
        p = torch.softmax(x, 1)[torch.arange(len(y)), y]
        return ((1 - p) ** gamma * each).sum() / (len(y) if w is None else w[y].sum())
    return loss


def focal_labels(gamma):
    """torchvision's sigmoid_focal_loss without alpha, of pos_weight."""
    def loss(x, y, w):
        p = torch.sigmoid(x)
        each = F.binary_cross_entropy_with_logits(x, y, reduction="none", pos_weight=w)
        return ((1 - p * y - (1 - p) * (1 - y)) ** gamma * each).mean()
    return loss


def by_row(each):
    """(w * l).sum() / w.sum(), w of each row."""
    def loss(x, y, _, w):
        x, y, w = (x[y >= 0], y[y >= 0], w[y >= 0]) if y.ndim == 1 else (x, y, w[:, None].expand_as(y))
        return (w * each(x, y)).sum() / w.sum()
    return loss


def ndcg(shares, scores, k=10):
    """The steps of scikit-learn's ndcg_score. Equal scores share their discounts."""
    discount = 1 / (np.log(np.arange(shares.shape[1]) + 2) / np.log(2))
    discount[k:] = 0
    sums, out = np.cumsum(discount), []
    for y, x in zip(shares.astype(np.float64), scores):
        _, group, count = np.unique(-x, return_inverse=True, return_counts=True)
        mean = np.zeros(len(count))
        np.add.at(mean, group, y)
        last = sums[np.cumsum(count) - 1]
        gain, ideal = (mean / count * np.diff(last, prepend=0)).sum(), discount @ np.sort(y)[::-1]
        out.append(gain / ideal if ideal else 0)
    return np.mean(out)


def share_case(name, rows, cols, kind="cross_entropy", ties=False, weighted=False):
    logits = rng.normal(0, 3, (rows, cols)).astype(np.float32)
    if ties:
        logits = np.round(logits)
    labels = rng.dirichlet(np.full(cols, 0.3), rows).astype(np.float32)
    labels[rng.random((rows, cols)) < 0.4] = 0
    labels[rng.random(rows) < 0.1] = 0
    known = rng.random(rows) > 0.2
    x, y = (torch.from_numpy(of[known]).double() for of in (logits, labels))
    each = torch.from_numpy(rng.choice([0.5, 1, 3], rows).astype(np.float32)).double() if weighted else torch.ones(rows).double()
    own = each[torch.from_numpy(known)]
    x.requires_grad_()
    if kind == "mse":
        value = (own[:, None] * F.mse_loss(x, y, reduction="none")).sum() / (own.sum() * cols)
    elif weighted:
        value = (own * F.cross_entropy(x, y, reduction="none")).sum() / own.sum()
    else:
        value = F.cross_entropy(x, y)
    value.backward()
    grad = np.zeros_like(logits)
    grad[known] = x.grad.numpy()
    labels[~known] = np.nan
    share_out.update({f"{name}.logits": logits, f"{name}.labels": labels, f"{name}.grad": grad, f"{name}.loss": np.array([value.item()]),
                      f"{name}.ndcg": np.array([ndcg(labels[known], logits[known])])})
    if weighted:
        share_out[f"{name}.rows"] = each.numpy().astype(np.float32)
    share_metadata[name] = kind
    print(name, value.item(), share_out[f"{name}.ndcg"][0])


if __name__ == "__main__":
    case("plain", cross_entropy(0))
    case("weights", cross_entropy(0), weighted=True)
    case("smooth", cross_entropy(0.1), text="smoothing=0.1")
    case("smooth_weights", cross_entropy(0.25), weighted=True, text="smoothing=0.25")
    case("focal", focal(2), text="gamma=2")
    case("focal_weights", focal(0.5), weighted=True, text="gamma=0.5")
    case("labels", lambda x, y, w: F.binary_cross_entropy_with_logits(x, y), multi=True)
    case("labels_weights", lambda x, y, w: F.binary_cross_entropy_with_logits(x, y, pos_weight=w), multi=True, weighted=True)
    case("labels_focal", focal_labels(1.5), multi=True, text="gamma=1.5")
    case("labels_focal_weights", focal_labels(2), multi=True, weighted=True, text="gamma=2")
    case("rows", by_row(lambda x, y: F.cross_entropy(x, y, reduction="none")), rows=True)
    case("rows_smooth", by_row(lambda x, y: F.cross_entropy(x, y, reduction="none", label_smoothing=0.2)), rows=True, text="smoothing=0.2")
    case("rows_labels", by_row(lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none")), rows=True, multi=True)
    write_safetensors("nn_losses.safetensors", out, metadata)
    rng, share_out, share_metadata = np.random.default_rng(6), {}, {}
    for cols in 2, 9, 10, 40:
        share_case(f"shares_{cols}", 70, cols)
    for cols in 5, 12, 40:
        share_case(f"ties_{cols}", 70, cols, ties=True)
    share_case("weighted", 70, 15, weighted=True)
    share_case("mse", 70, 15, kind="mse", ties=True, weighted=True)
    write_safetensors("nn_shares.safetensors", share_out, share_metadata)
