export { type Acting, type Actor, actorOf, isSelf, mayActIn } from '@svc/contract/actor.ts';
