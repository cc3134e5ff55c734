/** What a scenario of the command line has for itself. */
import { rmSync } from 'node:fs';
import { temporaryFolder } from '@svc/testing/servers/processes.ts';
import { onTestFinished } from 'vitest';
import { newName, type Scenario } from '../verifies.ts';
import { CommandLine } from './command-line.ts';

/** A command line whose session stands on a brain of its own. */
export async function onOwnBrain({ place }: Pick<Scenario, 'place'>): Promise<{ svc: CommandLine; brain: string }> {
  const brain = newName('cli');
  const svc = new CommandLine(place, newName('session'));
  await svc.rows('call', 'brain_switch', `name=${brain}`, 'create=true');
  return { svc, brain };
}

/** One that goes with its test. */
export function folder(): string {
  const path = temporaryFolder('svc-cli');
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
