/** What lies in a brain's folder of islands without being one, or beside one, as people and other programs leave it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { bedOfFile } from '../../testing/bed-of-file.ts';

type Fields = Record<string, unknown>;

const NO_TEXT = Buffer.from([0xff, 0xfe, 0x00, 0x80]);
const ANN = { operator: false, subject: { workspace: 'acme', userId: 'ann', roles: ['editor'], verified: true } };

const bed = await bedOfFile();
const node = await bed.start();

beforeAll(async () => {
  await node.call('svc_create_island', { name: 'ops', triggers: ['a'], content: 'b' });
});

function leave(file: string, content: string | Buffer): void {
  writeFileSync(join(bed.dataDir, 'brains', 'svc', 'islands', file), content);
}

const NEW = { triggers: ['a'], content: 'b' };

test.each<[tool: string, args: Fields]>([
  ['svc_create_island', { name: 'new', ...NEW }],
  ['svc_bulk_create_islands', { islands: [{ name: 'new', ...NEW }] }],
  ['svc_update_island_triggers', { name: 'OPS', triggers: ['z'] }],
  ['svc_disable_island', { name: 'OPS' }],
  ['svc_enable_island', { name: 'OPS' }],
  ['svc_delete_island', { name: 'OPS' }],
])('%s changes no island while another spelling of its name is there', async (tool, args) => {
  leave('New.md', 'of a person');
  leave('OPS.md', '---\nname: OPS\ntriggers: [a]\n---\nof a person');
  await node.call('svc_get_islands', {});
  await expect(node.call(tool, args)).rejects.toThrow('VAF_PATH_BLOCKED');
});

test.each<[tool: string, args: Fields]>([
  ['svc_create_island', { name: 'bytes', ...NEW }],
  ['svc_bulk_create_islands', { islands: [{ name: 'bytes', ...NEW }] }],
])('%s writes over no bytes of a person, whoever may not read them', async (tool, args) => {
  leave('bytes.md', NO_TEXT);
  bed.registry.setPolicy('_island:bytes', { container: 'acme', readableBy: ['team:sre'], writableBy: ['user:ann'] });
  expect(await node.call(tool, args, ANN)).toMatchObject({ code: 'E_CONFLICT' });
});

test.each<[tool: string, args: Fields]>([
  ['svc_set_memory', { category: 'islands', filename: 'ops', content: 'x' }],
  ['brain_save', { name: 'islands/ops', content: 'x' }],
  ['brain_delete_file', { name: 'islands/ops' }],
  ['brain_remove', { name: 'islands/ops' }],
])('%s does to the file of an island what its boundary admits, for who says no name either', async (tool, args) => {
  bed.registry.setPolicy('_island:ops', { container: 'acme', writableBy: ['user:ann'] });
  await expect(node.call(tool, args)).rejects.toThrow('E_ISLAND_WRITE_DENIED');
  expect(readFileSync(join(bed.dataDir, 'brains', 'svc', 'islands', 'ops.md'), 'utf8')).toContain('b');
  bed.registry.setPolicy('_island:ops', null);
});

test('what is no text is not read as one', async () => {
  leave('pixels.md', NO_TEXT);
  expect(await node.call('svc_get_memory', { category: 'islands', filename: 'pixels' })).toMatchObject({
    code: 'E_NOT_TEXT',
  });
});

test('what is no text is not deleted as an island', async () => {
  leave('picture.md', NO_TEXT);
  expect(await node.call('svc_delete_island', { name: 'picture' })).toMatchObject({ code: 'E_CONFLICT' });
});

test.each(['svc_disable_island', 'svc_enable_island'])('%s makes no island of a text that is none', async (tool) => {
  leave('broken.md', '---\nname: [\n---\ntext');
  expect(await node.call(tool, { name: 'broken' })).toMatchObject({ code: 'E_ISLAND_INVALID' });
});
