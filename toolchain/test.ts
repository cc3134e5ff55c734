// Everything that must hold: `test.ts`. The end-to-end scenarios alone: `test.ts e2e`.
import { APART, AT_ONCE, BREAKING, SHARED_TARGET } from '../test-e2e/lanes.ts';
import { staticChecks } from './checks.ts';
import { provokedStage } from './provoked.ts';
import { runStages, sideBySide, vitestStage } from './stages.ts';

/** No requirement lacks a scenario. */
const REQUIREMENTS = 'e2e-coverage';
/** Files, each of which mostly waits for answers of one cluster. */
const SHARING_AT_ONCE = '3';
const CLUSTER = ['e2e-cluster'];
const endToEnd = [
  vitestStage('e2e embedded', ['e2e-embedded']),
  vitestStage('e2e cluster', CLUSTER, {
    without: [...BREAKING, ...APART],
    environment: { [AT_ONCE]: SHARING_AT_ONCE },
  }),
  sideBySide('e2e clusters', [
    vitestStage('breaking', CLUSTER, { files: BREAKING, environment: { [SHARED_TARGET]: 'none' } }),
    vitestStage('apart', CLUSTER, { files: APART }),
  ]),
];

const [selection] = process.argv.slice(2);
if (selection === undefined) {
  const provoked = provokedStage(process.env);
  process.exitCode = await runStages([
    ...staticChecks,
    vitestStage('unit and contract', ['unit', 'alone', 'servers', REQUIREMENTS]),
    ...endToEnd,
    provoked,
  ]);
} else if (selection === 'e2e') {
  process.exitCode = await runStages([vitestStage('e2e requirements', [REQUIREMENTS]), ...endToEnd]);
} else {
  process.stderr.write('usage: test.ts [e2e]\n');
  process.exitCode = 2;
}
