#!/usr/bin/python3
"""Optimizer steps of tests/train/test_practice.c, by PyTorch's optimizers, schedulers and clip_grad_norm_.

One file has initial parameters, gradients of all steps, and what validation measures after each epoch. For each case it has options,
learning rates and the parameters at the end.

    cd tests/nn/golden && ./nn_steps_make.py
"""
import math

import numpy as np
import torch
from torch.optim import lr_scheduler

from nn_make import write_safetensors

STEPS, EPOCH, N = 50, 5, 33
rng = np.random.default_rng(11)
init = rng.normal(0, 0.5, N).astype(np.float32)
gradients = (rng.normal(0, 1, (STEPS, N)) * 10 ** rng.uniform(-1.5, 1, (STEPS, 1))).astype(np.float32)
measured = np.array([0.30, 0.42, 0.425, 0.41, 0.60, 0.58, 0.60, 0.61, 0.605, 0.62])
out = {"init": init, "gradients": gradients, "measured": measured}
metadata = {"epoch": str(EPOCH)}


def linear(warmup):
    return lambda o: lr_scheduler.LinearLR(o, 1 / warmup, 1, warmup - 1)


def case(name, optimizer, lr, decay=0.0, clip=0.0, by_step=(), by_epoch=None, by_figure=None, options="", betas=(0.9, 0.999), eps=1e-8):
    p = torch.nn.Parameter(torch.from_numpy(init.copy()))
    more = {} if optimizer == "sgd" else {"betas": betas, "eps": eps}
    o = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[optimizer]([p], lr=lr, weight_decay=decay, **more)
    by_step = [make(o) for make in by_step]
    by_epoch, by_figure = by_epoch and by_epoch(o), by_figure and by_figure(o)
    rates = []
    for step in range(STEPS):
        p.grad = torch.from_numpy(gradients[step].copy())
        if clip:
            torch.nn.utils.clip_grad_norm_([p], clip)
        rates.append(o.param_groups[0]["lr"])
        o.step()
        for s in by_step:
            s.step()
        if step % EPOCH == EPOCH - 1:
            if by_epoch:
                by_epoch.step()
            if by_figure:
                by_figure.step(measured[step // EPOCH])
    out[f"rates.{name}"], out[f"final.{name}"] = np.array(rates), p.detach().numpy().copy()
    metadata[name] = f"optimizer={optimizer} lr={lr} weight-decay={decay} clip={clip} {options}".strip()
    print(name, rates[0], rates[-1])


if __name__ == "__main__":
    case("adam", "adam", 0.02, 0.05, clip=0.5)
    case("adamw", "adamw", 0.02, 0.1)
    case("adam_betas", "adam", 0.02, 0.05, clip=0.5, betas=(0.8, 0.98), eps=1e-4, options="beta1=0.8 beta2=0.98 epsilon=1e-4")
    case("adamw_betas", "adamw", 0.02, 0.1, betas=(0, 0.9999), eps=0.1, options="beta1=0 beta2=0.9999 epsilon=0.1")
    case("cosine", "adamw", 0.02, 0.1, clip=1.0, by_step=[lambda o: lr_scheduler.CosineAnnealingLR(o, 50, 0.001)],
         options="lr-schedule=cosine lr-steps=50 lr-min=0.001")
    case("cosine_again", "adam", 0.02, by_step=[lambda o: lr_scheduler.CosineAnnealingLR(o, 20)], options="lr-schedule=cosine lr-steps=20")
    case("cosine_warm", "adam", 0.02, clip=2.0, by_step=[lambda o: lr_scheduler.LambdaLR(
        o, lambda t: (t + 1) / 7 if t < 7 else (1 + math.cos(math.pi * t / 45)) / 2)], options="lr-schedule=cosine lr-steps=45 warmup=7")
    case("warm", "sgd", 0.05, 0.02, clip=0.7, by_step=[linear(9)], options="warmup=9")
    case("step", "sgd", 0.05, clip=1.5, by_epoch=lambda o: lr_scheduler.StepLR(o, 3, 0.4), options="lr-schedule=step:3,0.4")
    case("plateau", "adamw", 0.02, 0.05, clip=3.0, by_figure=lambda o: lr_scheduler.ReduceLROnPlateau(
        o, mode="max", factor=0.3, patience=1, threshold=0.01, threshold_mode="abs", min_lr=0.003),
         options="lr-schedule=plateau:0.3,1 min-delta=0.01 lr-min=0.003")
    case("plateau_warm", "adam", 0.02, by_step=[linear(4)], by_figure=lambda o: lr_scheduler.ReduceLROnPlateau(
        o, mode="max", factor=0.5, patience=0, threshold=0, threshold_mode="abs"), options="lr-schedule=plateau:0.5,0 warmup=4")
    write_safetensors("nn_steps.safetensors", out, metadata)
