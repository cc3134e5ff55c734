/** What clients of the newer era ask of tasks, if they say that they know of them. */
import { isObject } from '../domain/call-form.ts';
import type { Answered } from '../domain/mcp-results.ts';
import { INVALID_PARAMS, McpError, missingCapability, speaksOfTasks, TASKS_REQUIRED } from '../domain/mcp-wire.ts';
import type { Calling } from '../tool-call.ts';
import type { Answering, Asked, Methods } from './room.ts';
import type { ResumeTask, Tasks } from './tasks.ts';

export function taskMethods(tasks: Tasks, resume: (calling: Calling) => ResumeTask): Methods {
  return {
    'tasks/get': ofTask((id, asked) =>
      tasks.get(id, { ...principalOf(asked), requestId: asked.exchange.requestId, resume: resume(asked) }),
    ),
    'tasks/update': ofTask(async (id, asked) => {
      const { inputResponses } = asked.message.params;
      if (!isObject(inputResponses)) throw new McpError(INVALID_PARAMS, 'params.inputResponses must be an object.');
      return tasks.update(id, principalOf(asked).principal, inputResponses);
    }),
    'tasks/cancel': ofTask((id, asked) => tasks.cancel(id, principalOf(asked).principal)),
  };
}

function ofTask(answer: (id: string, asked: Asked) => Promise<Answered>): Answering {
  return async (asked) => {
    if (!speaksOfTasks(asked.message)) throw missingCapability(TASKS_REQUIRED);
    const { taskId } = asked.message.params;
    if (typeof taskId !== 'string') throw new McpError(INVALID_PARAMS, 'params.taskId must be a string.');
    return answer(taskId, asked);
  };
}

function principalOf({ visit }: Asked): { readonly principal: string } {
  return { principal: visit.identity.sessionOwner };
}
