"""A check for ReFrame: is anything slower than in a kept result folder of jitterlab, by more than a gate?

    reframe -c gate.py -r -S kept=KEPT -S folder=RESULTS        # compares two result folders
    reframe -c gate.py -r -S kept=KEPT -S experiment=FILE       # runs the experiment first

It passes if everything is within the gate for certain. What is slower, or not decided, fails, and is named.
"""

import json
import os
import shlex

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before, sanity_function, variable


@rfm.simple_test
class JitterlabGate(rfm.RunOnlyRegressionTest):
    """Holds a result folder against a kept one."""

    descr = 'jitterlab: nothing is slower than in a kept result folder'
    valid_systems = ['*']
    valid_prog_environs = ['*']
    local = True

    #: The kept result folder.
    kept = variable(str)
    #: The result folder that is held against it.
    folder = variable(str, value='')
    #: An experiment file that is run first, in the place of a folder.
    experiment = variable(str, value='')
    #: The share by which nothing may be slower.
    gate = variable(str, value='5%')
    #: The figure of a run that is compared: mean, median, p99 or p999.
    figure = variable(str, value='median')
    #: The program.
    jitterlab = variable(str, value='jitterlab')

    @run_before('run')
    def compare(self):
        # In the folder of the test, which is another one.
        kept, experiment = (os.path.abspath(path) for path in (self.kept, self.experiment))
        folder = shlex.quote(os.path.abspath(self.folder))
        jitterlab = shlex.quote(self.jitterlab)
        if self.experiment:
            # Of runs that have failed (1) the comparison tells; after any other failure there is nothing to compare.
            self.prerun_cmds = [
                f'{jitterlab} run {shlex.quote(experiment)} --headless --results measured > events.jsonl || [ $? = 1 ] || exit'
            ]
            folder = 'measured/*'
        self.executable = jitterlab
        self.executable_opts = [
            'results', 'compare', shlex.quote(kept), folder, '--gate', self.gate,
            '--figure', self.figure, '--format', 'json', '>', 'gate.json'
        ]

    def found(self):
        """What was compared; nothing where the program has failed."""
        path = os.path.join(self.stagedir, 'gate.json')
        if not os.path.exists(path) or os.path.getsize(path) == 0:
            return None
        with open(path, encoding='utf-8') as file:
            return json.load(file)

    @sanity_function
    def is_within_the_gate(self):
        found = self.found()
        if found is None:
            return sn.assert_true(False, msg=f'nothing was compared: {self.said()}')
        open_or_slower = [
            f"{quantity['name']} is slower by more than {self.gate}"
            if quantity['slower'] == 'yes' else f"{quantity['name']} is undecided"
            + (', since it had other delays' if quantity['other_delays'] else '')
            for quantity in found['quantities'] if quantity['slower'] != 'no'
        ]
        missing = [f'{name} was not measured' for name in found['missing']]
        other_loop = [
            f"{it['name']} was measured in the {it['b']} loop, and in the {it['a']} one before"
            for it in found['other_loop']
        ]
        failing = [
            f"{it['name']} fails more often: {it['b']['failed']} of {it['b']['all']} attempts"
            for it in found['failing']
        ]
        return sn.assert_eq(found['slower'], 'no', msg='; '.join(open_or_slower + missing + other_loop + failing))

    def said(self):
        """What was said on stderr."""
        with open(os.path.join(self.stagedir, str(sn.evaluate(self.stderr))), encoding='utf-8') as file:
            return file.read().strip()

    @run_before('performance')
    def report_changes(self):
        for quantity in (self.found() or {}).get('quantities', []):
            change = round(100 * (quantity['ratio']['value'] - 1), 2)
            self.perf_variables[quantity['name']] = sn.make_performance_function(
                sn.defer(change), '%'
            )
