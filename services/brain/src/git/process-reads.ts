/** What the processes of a group have read by now: that a remote is alive is on the wire also where git does not say so. */
import { readdirSync, readFileSync } from 'node:fs';

/** Ssh hears from its other end also when no git answers there. */
const NO_GIT = 'ssh';

/** In bytes, of all that live and all that they waited for; null where the system does not tell. */
export function readBytesOfGroup(group: number): number | null {
  try {
    let bytes = 0;
    for (const id of readdirSync('/proc')) if (/^\d+$/.test(id) && isOf(group, id)) bytes += readBytesOf(id);
    return bytes;
  } catch {
    return null; // a system without it
  }
}

function isOf(group: number, id: string): boolean {
  const [, name, ofGroup] = /^\d+ \((.*)\) \S+ \d+ (\d+) /s.exec(tryRead(`/proc/${id}/stat`)) ?? [];
  return Number(ofGroup) === group && name !== NO_GIT;
}

function readBytesOf(id: string): number {
  return Number(/^rchar: (\d+)$/m.exec(tryRead(`/proc/${id}/io`))?.[1] ?? 0);
}

function tryRead(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return ''; // the process has ended, or belongs to somebody else
  }
}
