-- AlterTable
ALTER TABLE "universe"."streams" ADD COLUMN     "family" TEXT,
ADD COLUMN     "implicit" BOOLEAN NOT NULL DEFAULT false;
