/** What lies beside the directories of a service, where nothing may change whatever it is asked. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TargetPlace } from '../targets/target.ts';
import { treeHash } from './tree-hash.ts';

/** Scenarios that run at the same time share a target: what one of them puts beside the service is not the service's doing. */
const PLANTED = 'planted';
const OWN = new RegExp(`^(data|logs|${PLANTED})(/|$)`);

/** Where a scenario may put something of its own. */
export function plantingPlace({ root }: TargetPlace, name: string): string {
  mkdirSync(join(root, PLANTED), { recursive: true });
  return join(root, PLANTED, name);
}

/** Of everything that no scenario has put there. */
export function hashOutside({ root }: TargetPlace): string {
  return treeHash(root, (path) => OWN.test(path));
}
