import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startGateway } from '../service.ts';
import { type Harness, KEYED, startHarness, until } from '../../testing/harness.ts';
import { createTestPlatform } from '../../testing/platform.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.stop());

test('nodes_list shows one node for one process, and each further gateway', async () => {
  const { instance, nodeId } = harness.platform.node;
  const { result } = await harness.tool('nodes_list');
  expect(result?.content).toMatchObject({
    nodes: [
      {
        id: instance,
        name: nodeId,
        service: 'gateway,probe',
        status: 'alive',
        version: '1.2.3',
        port: harness.gateway.port,
      },
    ],
    self: instance,
  });
  const other = await startGateway(createTestPlatform({ environment: KEYED, bus: harness.platform.bus }));
  const count = async () => (await harness.content<{ nodes: unknown[] }>('nodes_list')).nodes.length;
  await until(async () => (await count()) === 2);
  await other.close();
  await until(async () => (await count()) === 1);
});

test('svc_framework_status tells how the installation is', async () => {
  const { result } = await harness.tool('svc_framework_status');
  expect(result?.content.status).toMatchObject({
    name: 'brain-service',
    version: '1.2.3',
    mode: 'headless',
    platform: 'embedded',
    ready: true,
    keyed: true,
    requireKey: true,
    durability: 'process-crash',
    services: [
      { name: 'gateway', ready: true, tools: 5, instances: 1 },
      { name: 'probe', ready: true, instances: 1 },
    ],
  });
});

describe('tool_search', () => {
  const find = async (args: object) => {
    const { tools } = await harness.content<{ tools: { name: string }[] }>('tool_search', args);
    return tools.map(({ name }) => name);
  };

  test('finds by name, by part of a word and by description', async () => {
    expect((await find({ query: 'echo' }))[0]).toBe('probe_echo');
    expect((await find({ query: 'late answers' })).slice(0, 2).sort()).toEqual(['probe_slow_read', 'probe_slow_write']);
    expect((await find({ query: 'frame' }))[0]).toBe('svc_framework_status');
  });

  test('keeps to area and limit, and finds nothing for nonsense', async () => {
    expect(await find({ query: 'probe', limit: 2 })).toHaveLength(2);
    expect(await find({ query: 'status', area: 'probe' })).toEqual([]);
    expect(await find({ query: '!!! ???' })).toEqual([]);
  });

  test('names the areas to who asks in one that there is not', async () => {
    const { error } = await harness.tool('tool_search', { query: 'probe', area: 'probes' });
    expect(error).toMatchObject({
      code: 'VAF_INPUT_INVALID',
      message: expect.stringMatching(/^area: must be one of .*probe/),
    });
  });

  test('answers the same each time', async () => {
    const [first, second] = [
      await find({ query: 'probe tool', limit: 20 }),
      await find({ query: 'probe tool', limit: 20 }),
    ];
    expect(first.length).toBeGreaterThan(3);
    expect(second).toEqual(first);
  });
});

test('tool_describe describes what it knows and guesses at the rest', async () => {
  const { result } = await harness.tool('tool_describe', { names: ['probe_write', 'prob_echo'] });
  expect(result?.content).toMatchObject({
    tools: [
      {
        name: 'probe_write',
        access: 'identified',
        effect: 'write',
        refusals: [],
        example: null,
        inputSchema: { required: ['amount'] },
      },
    ],
    unknown: [{ name: 'prob_echo', nearest: expect.arrayContaining(['probe_echo']) }],
  });
  expect((await harness.tool('tool_describe', { name: 'probe_read' })).result?.content.tools).toMatchObject([
    { refusals: ['E_FILE_ABSENT'] },
  ]);
});
