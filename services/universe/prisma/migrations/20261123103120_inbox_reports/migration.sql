-- AlterTable
ALTER TABLE "universe"."work" ADD COLUMN     "reported" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "reports" INTEGER NOT NULL DEFAULT 0;

-- What has not been told yet is little beside what has.
CREATE INDEX "work_unreported" ON "universe"."work" ("work_id") WHERE "reports" > "reported";
