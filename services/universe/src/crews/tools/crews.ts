/** svc_scenario_*: crews of agents that work on one budget and vote on what they have done. */
import { assemble } from './assemble.ts';
import { status } from './status.ts';
import { task } from './tasks.ts';

export const crewTools = [assemble, task, status];
