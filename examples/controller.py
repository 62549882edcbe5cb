"""Tune a controller for a cart that balances a pole: four gains, found by simulation alone.

The force on the cart is a linear function of its state. The cost of a set of gains is that of six simulated
seconds from a tilt of 30 degrees. The simulation uses the full nonlinear equations of motion and a motor
limited to 20 N. The textbook solution, the linear-quadratic regulator, takes neither into account.
"""

import numpy as np
from scipy.linalg import solve_continuous_are

import r1nes

CART, POLE, HALF_LENGTH, GRAVITY = 1.0, 0.3, 0.5, 9.81  # kg, kg, m, m/s²
STEP, STEPS = 0.02, 300  # s
MOTOR = 20.0  # N
WEIGHTS = np.array([1.0, 0.1, 10.0, 0.1])  # for position, speed, angle, angular speed
EFFORT = 0.01


def derivative(state, force):
    """The time derivative of the state (position, speed, angle, angular speed) of one or many carts."""
    _, speed, angle, turning = state
    sin, cos = np.sin(angle), np.cos(angle)
    push = (force + POLE * HALF_LENGTH * turning**2 * sin) / (CART + POLE)
    bend = (GRAVITY * sin - cos * push) / (HALF_LENGTH * (4 / 3 - POLE * cos**2 / (CART + POLE)))
    return np.array([speed, push - POLE * HALF_LENGTH * bend * cos / (CART + POLE), turning, bend])


def cost(gains):
    """The cost of each row of gains; the sooner the pole falls, the higher."""
    carts = len(gains)
    state = np.zeros((4, carts))
    state[2] = np.radians(30)
    total, upright = np.zeros(carts), np.ones(carts, bool)
    for _ in range(STEPS):
        force = np.clip(np.sum(gains.T * state, axis=0), -MOTOR, MOTOR)
        total += STEP * np.where(upright, WEIGHTS @ state**2 + EFFORT * force**2, 100.0)
        state = np.where(upright, state + STEP * derivative(state, force), state)
        upright &= np.abs(state[2]) < np.radians(80)
    return total


def regulator():
    """The gains of the linear-quadratic regulator, linearised at the upright position."""
    tiny = 1e-6
    A = np.array([derivative(tiny * unit, 0.0) / tiny for unit in np.eye(4)]).T
    B = derivative(np.zeros(4), tiny)[:, None] / tiny
    P = solve_continuous_are(A, B, np.diag(WEIGHTS), np.array([[EFFORT]]))
    return -(B.T @ P)[0] / EFFORT


def main():
    """Tune the gains and compare them with the textbook's."""
    result = r1nes.minimize(
        cost, np.full(4, 20.0), bounds=[(0, 200)] * 4, popsize=20, vectorized=True, max_evals=3000, rng=1
    )
    textbook = cost(regulator()[None])[0]
    print("gains", result.x.round(1), "textbook gains", regulator().round(1))
    print(f"cost {result.fun:.3f} after {result.nfev} simulations, textbook cost {textbook:.3f}")
    assert result.fun < textbook


if __name__ == "__main__":
    main()
