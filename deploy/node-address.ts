/** Where the node of a data directory can be reached: written by the node, believed while that node lives. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lockHolder } from '@svc/runtime/data-lock.ts';
import { z } from 'zod';

export const LOCK = 'service.lock';
const ADDRESS = 'service.address';

const Written = z.object({
  /** As in the lock: one process for ever. */
  holder: z.string(),
  url: z.string(),
  /** Where its users are counted; null for a node that does not end by itself. */
  users: z.object({ port: z.number(), secret: z.string() }).nullable(),
});

export type NodeAddress = Readonly<Omit<z.output<typeof Written>, 'holder'>>;

export function writeNodeAddress(directory: string, address: NodeAddress): void {
  const holder = lockHolder(join(directory, LOCK));
  const draft = join(directory, `${ADDRESS}.${process.pid}`);
  writeFileSync(draft, JSON.stringify({ holder, ...address }), { mode: 0o600 });
  renameSync(draft, join(directory, ADDRESS));
}

export function removeNodeAddress(directory: string): void {
  rmSync(join(directory, ADDRESS), { force: true });
}

/** `absent`: no process has the directory. `starting`: one has, and cannot be reached yet, or not any more. */
export function findNode(directory: string): NodeAddress | 'absent' | 'starting' {
  const holder = lockHolder(join(directory, LOCK));
  if (holder === null) return 'absent';
  const written = Written.safeParse(readJson(join(directory, ADDRESS)));
  return written.success && written.data.holder === holder ? written.data : 'starting';
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null; // not written yet, or just taken away
  }
}
