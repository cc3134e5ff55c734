/** Tools that are tasks for clients that know of tasks. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CallError } from '@svc/contract/codes.ts';
import { elicitation, type Fields, said, type TaskFixture } from './fixture.ts';
import { ASK_USER_NAME, userName } from './input-tools.ts';

const SECOND_MS = 1000;
const MAX_SECONDS = 60;
const YES = { type: 'boolean' };

function secondsIn({ seconds }: Fields): number {
  return Math.min(MAX_SECONDS, Math.max(0, Number(seconds) || 0));
}

export const TASK_TOOLS: readonly TaskFixture[] = [
  {
    name: 'slow_compute',
    description: 'Answers after some seconds.',
    inputSchema: { type: 'object', properties: { seconds: { type: 'number' }, label: { type: 'string' } } },
    isTaskRequired: false,
    async work(args, _call, control) {
      await sleep(secondsIn(args) * SECOND_MS, undefined, control === null ? {} : { signal: control.signal });
      return said(`computed ${JSON.stringify(args['label'] ?? null)}`);
    },
  },
  {
    name: 'failing_job',
    description: 'Fails after a second.',
    isTaskRequired: true,
    async work() {
      await sleep(SECOND_MS);
      return { ...said('The job failed.'), isError: true };
    },
  },
  {
    name: 'protocol_error_job',
    description: 'Breaks.',
    isTaskRequired: false,
    async work() {
      throw new CallError('INTERNAL');
    },
  },
  {
    name: 'confirm_delete',
    description: 'Asks before it goes on.',
    inputSchema: { type: 'object', properties: { filename: { type: 'string' } } },
    isTaskRequired: true,
    async work({ filename }, _call, control) {
      const answers = await control?.ask({ confirm: elicitation(`Delete ${String(filename)}?`, { confirm: YES }) });
      return said(`answered: ${JSON.stringify(answers)}`);
    },
  },
  {
    name: 'multi_input',
    description: 'Asks for two things at once.',
    isTaskRequired: true,
    async work(_args, _call, control) {
      const first = elicitation('The first?', { name: { type: 'string' } });
      const second = elicitation('The second?', { name: { type: 'string' } });
      return said(`answered: ${JSON.stringify(await control?.ask({ first, second }))}`);
    },
  },
  {
    name: 'test_tool_with_task',
    description: 'Asks for a name, and greets in a task.',
    isTaskRequired: true,
    before: (call) => (userName(call) === null ? ASK_USER_NAME : null),
    work: async (_args, call) => said(`Hello, ${userName(call)}!`),
  },
];
