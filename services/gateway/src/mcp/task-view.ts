/** A task as the protocol shows it. */
import { TASK_KEPT_MS, type TaskRecord } from '../domain/mcp-tasks.ts';

const POLL_EVERY_MS = 1000;

/** The text of its members; `isDetailed` with what came of it. */
export function taskMembers(taskId: string, record: TaskRecord, isDetailed: boolean): string {
  const { status, statusMessage, createdAt, lastUpdatedAt, result, error, inputRequests } = record;
  const task = {
    taskId,
    status,
    ...(statusMessage === undefined ? {} : { statusMessage }),
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(lastUpdatedAt).toISOString(),
    ttlMs: TASK_KEPT_MS,
    pollIntervalMs: POLL_EVERY_MS,
    ...(isDetailed && inputRequests !== undefined ? { inputRequests } : {}),
  };
  const members = JSON.stringify(task).slice(1, -1);
  if (!isDetailed) return members;
  if (result !== undefined) return `${members},"result":${result}`;
  return error === undefined ? members : `${members},"error":${error}`;
}
