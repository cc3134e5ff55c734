// Everything that must hold: `test.ts`. The end-to-end scenarios alone: `test.ts e2e`.
import { BREAKING, SHARED_TARGET } from '../test-e2e/breaking.ts';
import { staticChecks } from './checks.ts';
import { provokedStage } from './provoked.ts';
import { runStages, sideBySide, vitestStage } from './stages.ts';

/** No requirement lacks a scenario. */
const REQUIREMENTS = 'e2e-coverage';
const endToEnd = [
  vitestStage('e2e embedded', ['e2e-embedded']),
  sideBySide('e2e cluster', [
    vitestStage('breaking', ['e2e-cluster'], { files: BREAKING, environment: { [SHARED_TARGET]: 'none' } }),
    vitestStage('sharing', ['e2e-cluster'], { without: BREAKING }),
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
