// The fast part of the suite, for the moment before a commit.
import { staticChecks } from './checks.ts';
import { runStages, vitestStage } from './stages.ts';

process.exitCode = await runStages([...staticChecks, vitestStage('unit', ['unit', 'alone'])]);
