"""Small mistakes in the source, each of which a test of its room must notice."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """A piece of a source file, what replaces it, and the tests that have to fail then."""

    path: str  # in src/r1nes
    old: str
    new: str
    tests: str


def of(path: str, tests: str, *changes: tuple[str, str]) -> list[Mutant]:
    """The mutants of one file."""
    return [Mutant(path, old, new, tests) for old, new in changes]


MUTANTS = [
    *of(
        "ranking.py",
        "tests/test_ranking.py",
        ("math.log(n / 2 + 1)", "math.log(n / 2 + 2)"),
        ("return w - 1 / n if zero_sum else w", "return w"),
        ("(n + 1) / 2 - np.arange(1, n + 1)", "(n + 2) / 2 - np.arange(1, n + 1)"),
        ('argsort(kind="stable")', "argsort()[::-1]"),
        ("ranked[1:] > ranked[:-1]", "ranked[1:] >= ranked[:-1]"),
        ("differs |= np.isnan(ranked[1:]) & ~np.isnan(ranked[:-1])", "pass"),
        ("differs |= np.isnan(ranked[1:]) & ~np.isnan(ranked[:-1])", "differs |= np.isnan(ranked[1:])"),
        ("return np.zeros_like(utilities)", "return utilities"),
        ("/ sizes", ""),
        ("ranked[(n - 1) // 2]", "ranked[n // 2]"),
        ("int(order[0])", "int(order[-1])"),
    ),
    *of(
        "stopping.py",
        "tests/test_stopping.py",
        ("self.best <= self.ftarget", "self.best < self.ftarget"),
        (
            "if best < self.best:\n            self.best, self.flat",
            "if best <= self.best:\n            self.best, self.flat",
        ),
        ("self.flat >= FLAT_GENERATIONS", "self.flat > FLAT_GENERATIONS"),
        ("if not self.condition < self.max_condition", "if self.condition >= self.max_condition"),
        ("if not self.condition < self.max_condition", "if self.condition > self.max_condition"),
        ("if not largest_std < self.largest", "if largest_std >= self.largest"),
        ("if largest_std <= self.xtol", "if largest_std < self.xtol"),
        ("nfev + self.popsize > self.max_evals", "nfev + self.popsize >= self.max_evals"),
        ("nfev + self.popsize > self.max_evals", "nfev > self.max_evals"),
        ("self.best == -math.inf", "False"),
        ("most <= SHRUNK * self.sharpness.widest and self.ftol > 0", "self.ftol > 0"),
        ("if self.on_plateaus and not self.is_followed and 2 * len(self.era) < generation", "if False"),
        ("least * (middle - self.ftarget)", "0.0"),
        ("RESTARTED if self.sharpness.is_restarted else STALLED", "STALLED"),
        ("self.seconds() >= self.max_seconds", "False"),
        ("or not most:", ":"),
    ),
    *of(
        "stopping.py",
        "tests/test_restarts.py",
        ("if repeats and self.is_followed:", "if False:"),
        ('"noise", "on_plateaus")', '"noise")'),
    ),
    *of(
        "bounds.py",
        "tests/test_bounds.py",
        ("self._width / 3", "self._width / 2"),
        ("self._width / 3", "self._width"),
        (" & (lower < np.inf) & (upper > -np.inf)", ""),
        ("(lower <= upper)", "(lower < upper)"),
        ("np.minimum(0.05 * width, 0.5 * sigma)", "0.05 * width"),
        ("np.minimum(0.05 * width, 0.5 * sigma)", "0.5 * sigma"),
        ("near * near / (4 * m)", "near * near / (2 * m)"),
        ("(x0 < lower) | (x0 > upper)", "(x0 <= lower) | (x0 >= upper)"),
        ("(x0 < lower) | (x0 > upper)", "(x0 < lower)"),
        ("return 0.3 * float(widths.min())", "return 0.3 * float(widths.max())"),
        ("xp.clip(folded, self.lower, self.upper)", "folded"),
        ("if (lower == upper).all()", "if False"),
    ),
    *of(
        "storage/files.py",
        "tests/storage/test_files.py",
        ("            os.fsync(descriptor)\n", ""),
        ("    _flush_directory(target.parent)\n", ""),
        ("os.O_CREAT | os.O_EXCL | getattr", "os.O_CREAT | getattr"),
        ("            _keep_mode(descriptor, target)\n", ""),
        ("            os.unlink(draft)\n", "            pass\n"),
        ("Path(os.path.realpath(path))\n    draft", "Path(path)\n    draft"),
        ("secrets.token_hex(8)", "'0'"),
        ("rest = rest[os.write(descriptor, rest) :]", "os.write(descriptor, rest)\n        return"),
        ("fcntl.LOCK_EX | fcntl.LOCK_NB", "fcntl.LOCK_SH | fcntl.LOCK_NB"),
        ("if _is_still(descriptor, lock)", "if True"),
        ('if sys.platform == "win32":  # where', 'if sys.platform != "win32":  # where'),
        ("if not stat.S_ISREG(status.st_mode)", "if False"),
        ("if status.st_size > largest", "if False"),
    ),
    *of(
        "storage/checkpoint.py",
        "tests/storage/test_checkpoint.py tests/storage/test_forged.py tests/storage/test_files.py",
        ("if hashlib.sha256(body).hexdigest().encode() != checksum", "if False"),
        ("if int(version) not in READABLE", "if False"),
        ("if dtype in DTYPES", "if True"),
        ("if len(content) > LARGEST", "if False"),
        ("little.tobytes()", 'little.tobytes("F")'),
    ),
    *of(
        "storage/run_file.py",
        "tests/storage/test_files.py tests/storage/test_run_file.py",
        ("            if error is None:\n                raise", "            raise"),
        ("tree.keys() == PARTS", "tree.keys() >= {'fun'}"),
        ("            self._saved = time.monotonic()\n\n    def save_at_end", "\n    def save_at_end"),
        (">= self._every", "< self._every"),
    ),
    *of(
        "restarts.py",
        "tests/test_restarts.py",
        ("if ended.stopping.on_plateaus else 0", "if False else 0"),
        ("max(self.doubled + 1, least) if next_is_large", "self.doubled + 1 if next_is_large"),
        ("GROWTH ** (doubled - self.doubled) * last_large", "GROWTH * last_large"),
        ('ended.nfev + max(ended.popsize, changes["popsize"]) > budget', "ended.nfev > budget"),
        (
            'max(ended.popsize, changes["popsize"]) > budget',
            'max(ended.popsize, changes["popsize"]) >= budget',
        ),
        ("self.plan.doubled == self.doublings", "self.plan.doubled > self.doublings"),
        ("small >= SMALL * (large + small)", "small > SMALL * (large + small)"),
        ("small >= SMALL * (large + small)", "small <= SMALL * (large + small)"),
        ("self.last_large // 2", "self.last_large"),
        ("needed > budget - nfev", "needed > budget"),
        ("doubled - 1, needed / GROWTH", "doubled - 1, 0.0"),
        ("next_is_large and doubled > 1 and", "next_is_large and"),
        ("settings.size * 2**self.doubled", "settings.size * 3**self.doubled"),
        ("self.optimizer.inherit(ended)", "pass"),
        ('FINAL = {"ftarget", "minus_inf", "max_seconds"}', 'FINAL = {"ftarget", "max_seconds"}'),
        ("(popsize / settings.size) ** SLOWER", "(popsize / settings.size) ** -SLOWER"),
        ("start if edges is None else np.clip(start, *edges)", "start"),
    ),
    *of(
        "parallel/backend.py",
        "tests/parallel/test_retries.py tests/parallel/test_processes.py tests/parallel/test_faults.py",
        ("losses <= self.retries", "losses < self.retries"),
        ("losses <= self.retries", "losses <= self.retries + 1"),
        ("0 < losses == self.retries", "False"),
        ("np.full(lost, np.nan)", "np.full(lost, 0.0)"),
    ),
    *of(
        "settings/search.py",
        "tests/test_settings.py tests/test_step_sizes.py tests/faults",
        ("partial(count, least=2, most", "partial(count, least=1, most"),
        ('count("max_evals", self.max_evals, least=size)', 'count("max_evals", self.max_evals)'),
        ("if self.min_sigma > sigma", "if self.min_sigma >= sigma"),
        ("self.weight_decay >= 1 or", "self.weight_decay > 1 or"),
        ("if self.noise is True and not can", "if False"),
    ),
    *of(
        "settings/step_size.py",
        "tests/test_settings.py tests/test_step_sizes.py tests/faults",
        ("(given > 0).all()", "(given >= 0).all()"),
        ("np.max(sigma0) < limit", "True"),
        ("np.min(sigma0) > least", "True"),
        ("np.log(sigma0[free]).mean()", "np.log(sigma0).mean()"),
    ),
    *of(
        "strategies/rank_k/step.py",
        "tests/strategies/test_rank_k.py",
        ("FASTEST = 0.15", "FASTEST = 0.3"),
        ("SLOWER = 0.25", "SLOWER = 0.5"),
        ("JUMP = 1.0", "JUMP = 10.0"),
        ("TURN = 0.5", "TURN = 0.7"),
        ("SURE = 7.0", "SURE = 5.0"),
        ("w_power * 2 * (d - 1) / (d + 2)", "w_power * 2 * d / (d + 2)"),
        ("w_power * d / (d + 2), b)", "w_power, b)"),
        ("rates.keep_p ** (2 * age + 2)", "rates.keep_p ** (2 * age)"),
        ("0.125 * G_V + slots.half", "slots.half"),
        ("dot(X, X2) / 24.0", "dot(X, X2) / 12.0"),
        ("X2 * (A / 6.0)", "X2 * (A / 3.0)"),
        ("-1.0, 1.0)\n    scale", "-2.0, 2.0)\n    scale"),
        ("0.5 * rates.radial * tau", "rates.radial * tau"),
        ("age + 1)", "age)"),
    ),
]
