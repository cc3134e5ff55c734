-- AlterTable
ALTER TABLE "universe"."remotes" ADD COLUMN     "type" TEXT NOT NULL DEFAULT 'node';
