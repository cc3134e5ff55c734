/** How large blobs are, without reading them. */
import type { Repository } from './repository.ts';
import { objectId } from './run.ts';

/** Of those that the repository has. */
export async function readBlobSizes(repository: Repository, oids: readonly string[]): Promise<Map<string, number>> {
  if (oids.length === 0) return new Map();
  const { stdout } = await repository.git.run({
    args: ['cat-file', '--batch-check=%(objecttype) %(objectname) %(objectsize)'],
    gitDir: repository.gitDir,
    stdin: oids.map((oid) => `${objectId(oid)}\n`).join(''),
  });
  const lines = stdout.toString('latin1').split('\n');
  return new Map(
    lines.flatMap((line) => {
      const [type, oid = '', size = ''] = line.split(' ');
      return type === 'blob' ? [[oid, Number(size)] as const] : [];
    }),
  );
}
