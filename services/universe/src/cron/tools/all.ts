import { jobTools } from './jobs.ts';
import { runTools } from './runs.ts';

export const cronTools = [...jobTools, ...runTools];
