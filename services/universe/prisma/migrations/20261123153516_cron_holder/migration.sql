-- AlterTable
ALTER TABLE "universe"."cron_runs" ADD COLUMN     "holder" TEXT;
