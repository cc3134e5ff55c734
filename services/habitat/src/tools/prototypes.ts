/** agent_proto_*: what kinds of agents there are to begin with. */
import { z } from 'zod';
import { deny } from '@svc/contract/decision.ts';
import { defineTool } from '../deps.ts';
import { BUILT_IN, descriptionOf, overBuiltIn } from '../domain/prototype.ts';

const protoList = defineTool({
  name: 'agent_proto_list',
  area: 'agents',
  description: 'Prototypes of agents: the built-in ones, and the Markdown files of the brain category agents.',
  input: z.strictObject({}),
  output: z.strictObject({
    protos: z.array(z.strictObject({ name: z.string(), description: z.string() })),
    count: z.int(),
  }),
  access: 'public',
  effect: 'read',
  refuses: [],
  example: {},
  async handler(_input, { deps }) {
    const protos = overBuiltIn(await deps.brain.prototypes()).map(({ name, content }) => ({
      name,
      description: descriptionOf(content),
    }));
    return { protos, count: protos.length };
  },
});

const protoLoad = defineTool({
  name: 'agent_proto_load',
  area: 'agents',
  description: 'The text of a prototype, to be given to an agent as its instructions.',
  input: z.strictObject({
    name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._ -]{0,99}$/, 'must be a name of agent_proto_list'),
  }),
  output: z.strictObject({ name: z.string(), content: z.string() }),
  access: 'public',
  effect: 'read',
  refuses: ['E_PROTO_ABSENT'],
  example: { name: 'coordinator' },
  async handler({ name }, context) {
    const [file] = await context.deps.brain.prototypes(name);
    const found = file ?? BUILT_IN.find((prototype) => prototype.name === name);
    return found === undefined ? context.take<never>(deny('E_PROTO_ABSENT')) : { name, content: found.content };
  },
});

export const prototypeTools = [protoList, protoLoad];
