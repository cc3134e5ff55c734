/** Git's tree objects, read and written byte for byte: one directory each. */

import { encodePath } from './path-bytes.ts';

/** `40000` is a directory. */
export const DIRECTORY = '40000';

export interface TreeRow {
  /** As it stands in the object: `100644`, `100755`, `120000` (link), `160000` (submodule), `40000`; old tools pad with 0. */
  readonly mode: string;
  readonly oid: string;
}

/** Name -> row. A name is one character for each byte, so that one that is no UTF-8 stays as it is. */
export type TreeRows = Map<string, TreeRow>;

const OID_BYTES = 20;

export function isDirectoryRow({ mode }: TreeRow): boolean {
  return mode === DIRECTORY || mode === `0${DIRECTORY}`;
}

/** The name of a path's segment as it stands in a tree. */
export function treeName(segment: string): string {
  return encodePath(segment).toString('latin1');
}

export function parseTree(body: Buffer): TreeRows {
  const rows: TreeRows = new Map();
  for (let at = 0; at < body.length; ) {
    const space = body.indexOf(0x20, at);
    const end = body.indexOf(0, space);
    const next = end + 1 + OID_BYTES;
    if (space < 0 || end < 0 || next > body.length) throw new Error('a tree object ends inside an entry');
    const oid = body.toString('hex', end + 1, next);
    rows.set(body.toString('latin1', space + 1, end), { mode: body.toString('latin1', at, space), oid });
    at = next;
  }
  return rows;
}

/** In git's order: byte by byte, a directory as if its name ended in `/`. */
export function formatTree(rows: TreeRows): Buffer {
  const keyed = Array.from(rows, ([name, row]) => ({ key: isDirectoryRow(row) ? `${name}/` : name, name, row }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : 1));
  return Buffer.concat(
    keyed.flatMap(({ name, row }) => [Buffer.from(`${row.mode} ${name}\0`, 'latin1'), Buffer.from(row.oid, 'hex')]),
  );
}
