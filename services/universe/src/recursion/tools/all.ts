import { callingTools } from './calls.ts';
import { dataTools } from './data.ts';

export const recursionTools = [...dataTools, ...callingTools];
