"""What a system test gets: the build, a directory, checks and a cluster.

    def make_cluster(build, directory):              # optional: without it the module gets Cluster(build, directory)
        return Cluster(build, directory, nodes=2, settings=["KillWait=5"])

    def test_jobs_run(checks, cluster):
        checks.that("a job runs", cluster.run("srun", "true").code == 0)

The tests of a file share one cluster. It is started by the first test that asks for it. After a failure it is stopped, its logs are shown, and the
next test gets a new one, so a failure does not spread. Each test must also pass alone and in any order.
`checks` goes on after a check that failed, and the test fails at its end. A daemon that crashes fails the test during which it did.
A test that hangs fails after ten minutes (MR_SLOW stretches them) with the logs of its cluster, and the others go on.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "lib"))

from cluster import Checks, Cluster, TestTrouble  # noqa: E402
from host import BenchError, adopt_orphans, end_strays, limit  # noqa: E402


CASE_SECONDS = 600  # of a test, of what comes before it, and of what comes after it; far above what any takes
AGAIN_SECONDS = 20


class Hangs(BaseException):
    """Raised in a test that takes too long, wherever it is. Not an Exception, so that no test takes it for something else."""


@contextlib.contextmanager
def bounded(seconds):
    def give_up(*_):
        raise Hangs(f"this test hangs: it has not ended within {limit(seconds):.0f} s; above is where it was")
    signal.signal(signal.SIGALRM, give_up)
    # And again, and again: what ends a `with` may wait for a thread that hangs, too.
    signal.setitimer(signal.ITIMER_REAL, limit(seconds), limit(AGAIN_SECONDS))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def seconds_for(item):
    mark = item.get_closest_marker("hangs_after")
    return mark.args[0] if mark else CASE_SECONDS


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item):
    with bounded(seconds_for(item)):
        yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    with bounded(seconds_for(item)):
        yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item):
    with bounded(seconds_for(item)):
        yield


def pytest_addoption(parser):
    parser.addoption("--build", default=str(HERE.parents[1] / "build" / "asan"), help="a build folder, or an installed prefix")
    parser.addoption("--shuffle", type=int, help="each file's tests in an order that this number stands for")
    parser.addoption("--report", help="a line of JSON for each test goes to this file")


def pytest_configure(config):
    if not hasattr(config, "workerinput") and config.getoption("numprocesses", None):
        return  # tests run in the workers
    adopt_orphans()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that fixtures are torn down


def pytest_collection_modifyitems(config, items):
    """Files that take longest begin first, so that the last worker does not run alone. A file's tests stay together."""
    place = {path: number for number, path in enumerate(dict.fromkeys(item.path for item in items))}
    if (seed := config.getoption("--shuffle")) is not None:
        random.Random(seed).shuffle(items)

    def weight(item):
        mark = item.get_closest_marker("order")
        return -mark.args[0] if mark else 0
    items.sort(key=lambda item: (weight(item), place[item.path]))  # stable


class Report:
    """Writes what became of each test as a line of JSON. Runs where the results arrive, not in the workers."""

    def __init__(self, path):
        self.out = open(path, "w", buffering=1)

    def tell(self, **what):
        self.out.write(json.dumps(what) + "\n")

    def pytest_collection_finish(self, session):
        self.tell(collected=len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node, ids):
        self.tell(collected=len(ids))

    def pytest_collectreport(self, report):
        if report.failed:
            self.tell(test=report.nodeid or "collection", outcome="failed", seconds=0, text=str(report.longrepr), output="")

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.failed or (report.when == "setup" and report.skipped):
            text = report.longrepr[2] if report.skipped else report.longreprtext
            output = "\n".join(f"---- {name}\n{content}" for name, content in report.sections)
            self.tell(test=report.nodeid, outcome=report.outcome, seconds=report.duration, text=text, output=output)


def pytest_sessionstart(session):
    path = session.config.getoption("--report")
    if path and not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(Report(path), "millrace-report")


def make_directory(name):
    directory = Path(tempfile.mkdtemp(prefix=f"millrace-{name}."))  # short: the path of a socket has 107 bytes at most
    directory.chmod(0o755)  # other users' jobs pass through
    return directory


class Clusters:
    """The clusters of a module: the one its tests share, and those a test made for itself."""

    def __init__(self, module, build):
        self.module, self.build = module, build
        self.name = module.__name__.rpartition(".")[2].removeprefix("test_")
        self.shared, self.own, self.directories = None, [], []

    def directory(self):
        self.directories.append(make_directory(self.name))
        return self.directories[-1]

    def get_shared(self):
        if self.shared is None:
            make = getattr(self.module, "make_cluster", Cluster)
            self.shared = make(self.build, self.directory())
            try:
                self.shared.start()
            except BaseException:
                self.end(show=True)  # the next test gets one of its own
                raise
        return self.shared

    def alive(self):
        return [one for one in [self.shared, *self.own] if one is not None]

    def crashed(self):
        return [found for cluster in self.alive() for found in cluster.crashed()]

    def stop(self, cluster):
        finish = getattr(cluster, "finish", None)
        if finish:
            finish()
        cluster.stop()

    def end_own(self):
        while self.own:
            self.stop(self.own.pop())

    def end(self, show=False):
        gone, self.shared, self.own = self.alive(), None, []
        with contextlib.ExitStack() as rest:  # each is done, whatever comes of the others
            for directory in self.directories:
                rest.callback(shutil.rmtree, directory, ignore_errors=True)
            self.directories = []
            rest.callback(end_strays)
            for cluster in reversed(gone):
                rest.callback(self.stop, cluster)
                if show:
                    rest.callback(cluster.show_logs)


@pytest.fixture(scope="session")
def build(request):
    return Path(request.config.getoption("--build")).resolve()


@pytest.fixture(scope="module")
def clusters(request, build):
    held = Clusters(request.module, build)
    yield held
    held.end()


@pytest.fixture
def cluster(clusters):
    """The cluster that the tests of this file share."""
    return clusters.get_shared()


@pytest.fixture
def new_cluster(clusters):
    """new_cluster(directory, **as Cluster): another cluster, not started, stopped after the test. `kind=` names a class."""
    def make(directory, kind=Cluster, **how):
        clusters.own.append(kind(clusters.build, directory, **how))
        return clusters.own[-1]
    yield make
    clusters.end_own()


@pytest.fixture
def directory(clusters):
    """An empty directory for one test."""
    return clusters.directory()


@pytest.fixture
def checks(request, clusters):
    return Checks(request.node.name)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Runs the test; then whatever `checks` found and every crash of a daemon counts."""
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    checks, clusters = pyfuncitem.funcargs.get("checks"), pyfuncitem.funcargs.get("clusters")
    try:
        pyfuncitem.obj(**arguments)
        if clusters:
            crashed = clusters.crashed()
            checks.that("no daemon crashed", not crashed, crashed[:5])
        if checks and checks.failures:
            raise AssertionError(f"{len(checks.failures)} of {checks.passed + len(checks.failures)} checks failed:\n" + "\n".join(checks.failures))
    except pytest.skip.Exception:
        raise
    except BaseException as trouble:
        if checks and checks.failures and not isinstance(trouble, AssertionError):
            print("checks that failed before:\n" + "\n".join(checks.failures))
        if clusters:
            with bounded(CASE_SECONDS):
                clusters.end(show=True)
        if isinstance(trouble, (TestTrouble, BenchError)):
            pytest.fail(str(trouble), pytrace=True)
        raise
    return True
