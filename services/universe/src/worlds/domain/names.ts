/** What worlds are called, and which name is the fork of which. */
import { allow, type Decision, deny } from '@svc/contract/decision.ts';

const WORLD = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const CHILD = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const MAX_LENGTH = 64;
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/i;

export interface NamedWorld {
  readonly name: string;
  /** From the world that is no fork to this one; of a plain world, its name alone. */
  readonly lineage: readonly [string, ...string[]];
  readonly fork: boolean;
}

type Named = Decision<NamedWorld, 'E_SNAPSHOT_NAME'>;

function isWorld(name: string): boolean {
  return WORLD.test(name) && !name.includes('..') && !name.endsWith('.') && !WINDOWS_DEVICE.test(name);
}

/** A name with dots is one name here, and no lineage. */
export function plainWorld(name: string): Named {
  return isWorld(name) ? allow({ name, lineage: [name], fork: false }) : deny('E_SNAPSHOT_NAME');
}

/** `a.b.c` = the fork c of the fork b of a; `a` alone is no fork. */
export function worldOfLineage(name: string): Named {
  const [root = '', ...children] = name.split('.');
  if (name.length > MAX_LENGTH || !isWorld(root) || !children.every((child) => CHILD.test(child)))
    return deny('E_SNAPSHOT_NAME');
  return allow({ name, lineage: [root, ...children], fork: children.length > 0 });
}

export function forkOf(parent: string, child: string): Named {
  return CHILD.test(child) ? worldOfLineage(`${parent}.${child}`) : deny('E_SNAPSHOT_NAME');
}

/** As somebody names it who says whether it is a fork. */
export function namedWorld(name: string, fork: boolean): Named {
  if (!fork) return plainWorld(name);
  const named = worldOfLineage(name);
  return named.ok && !named.value.fork ? deny('E_SNAPSHOT_NAME') : named;
}
